"""A real interactive shell on a terminal of its own: shell_keys.py KEYS WANTED SHELL... types KEYS ("\\t" is Tab) and prints what stands on
the terminal as soon as the regular expression WANTED does, or after half a minute."""
import os
import pty
import re
import select
import sys
import time

keys, wanted, shell = sys.argv[1].encode().decode("unicode_escape").encode(), sys.argv[2], sys.argv[3:]
SECONDS = 30
child, terminal = pty.fork()
if child == 0:
    os.environ.update(TERM="dumb", PS1="ready> ", COLUMNS="160", LINES="50")
    os.execvp(shell[0], shell)


def standing(seen):
    screen = ""
    for letter in seen.decode(errors="replace").replace("\r", ""):   # a line editor goes back and writes over
        screen = screen[:-1] if letter == "\b" else screen + letter
    return screen


def read(seen, until):
    end = time.time() + SECONDS
    while not re.search(until, standing(seen)) and select.select([terminal], [], [], max(end - time.time(), 0))[0]:
        try:
            seen += os.read(terminal, 65536)
        except OSError:
            break
    return seen


seen = read(b"", "ready> ")
os.write(terminal, keys)   # a shell takes them one after the other, however long each takes it
print(standing(read(seen, wanted)))
os.close(terminal)
