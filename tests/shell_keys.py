"""A real interactive shell on a terminal of its own: shell_keys.py KEYS SHELL... prints what stands on it after KEYS were typed ("\\t" is Tab)."""
import os
import pty
import re
import select
import sys
import time

keys, shell = sys.argv[1].encode().decode("unicode_escape").encode(), sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.environ.update(TERM="dumb", PS1="ready> ", COLUMNS="160", LINES="50")
    os.execvp(shell[0], shell)


def read(quiet, until=b"", most=30.0):
    """Until nothing came for `quiet` seconds, and `until` did."""
    out, end = b"", time.time() + most
    while time.time() < end and (select.select([terminal], [], [], quiet)[0] or until not in out):
        try:
            out += os.read(terminal, 65536)
        except OSError:
            break
    return out


seen = read(0.1, b"ready> ")
for part in re.split(rb"(\t)", keys):
    if part:
        os.write(terminal, part)
        seen += read(0.7 if part == b"\t" else 0.1)
os.close(terminal)
screen = ""
for letter in seen.decode(errors="replace").replace("\r", ""):   # a line editor goes back and writes over
    screen = screen[:-1] if letter == "\b" else screen + letter
print(screen)
