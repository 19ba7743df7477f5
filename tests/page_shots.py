"""Pictures of a page, all by one headless Chromium: page_shots.py BROWSER PAGE HASH=FILE... opens PAGE#HASH once for each, waits until it is ready and
writes FILE, a PNG; the document itself for a FILE that ends in .html, once it has shown four frames. Errors and warnings of the page's console are printed
and make the status 1."""
import base64
import json
import os
import subprocess
import sys
import tempfile
import time

browser, page, wanted = sys.argv[1], sys.argv[2], [a.rpartition("=") for a in sys.argv[3:]]
SECONDS = 60   # for one picture, however busy the machine is
to_browser, from_browser = os.pipe(), os.pipe()


def pipes():   # the protocol's own descriptors: 3 is read by the browser, 4 written
    a, b = os.dup(to_browser[0]), os.dup(from_browser[1])
    os.dup2(a, 3), os.dup2(b, 4)


profile = tempfile.TemporaryDirectory(dir=".")
child = subprocess.Popen([browser, "--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
                          "--ignore-gpu-blocklist", "--remote-debugging-pipe", "--window-size=1000,900", "--user-data-dir=" + profile.name], preexec_fn=pipes, close_fds=False,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
os.close(to_browser[0]), os.close(from_browser[1])
incoming, last, said = os.fdopen(from_browser[0], "rb", 0), 0, []
rest = b""


def call(method, session=None, **params):
    global last, rest
    last += 1
    os.write(to_browser[1], json.dumps({"id": last, "method": method, "params": params, **({"sessionId": session} if session else {})}).encode() + b"\0")
    while True:
        while b"\0" not in rest:
            got = incoming.read(1 << 20)
            if not got:
                raise EOFError("the browser has gone")
            rest += got
        text, _, rest = rest.partition(b"\0")
        message = json.loads(text)
        if message.get("id") == last:
            if "error" in message:
                raise RuntimeError("%s: %s" % (method, message["error"]))
            return message["result"]
        if message.get("method") == "Runtime.exceptionThrown":
            said.append(message["params"]["exceptionDetails"]["exception"].get("description", "an exception"))
        if message.get("method") == "Runtime.consoleAPICalled" and message["params"]["type"] in ("error", "warning"):
            said.append(str(message["params"]["args"]))


def evaluate(session, expression):
    return call("Runtime.evaluate", session, expression=expression, returnByValue=True)["result"].get("value")


def until(session, expression):
    end = time.time() + SECONDS
    while not evaluate(session, expression):
        if time.time() > end:
            raise TimeoutError("%s is not so after %d s" % (expression, SECONDS))
        time.sleep(0.02)


WATCH = """window.seen = new Set(); new MutationObserver(() => seen.add(document.getElementById('frame').textContent))
    .observe(document.getElementById('frame'), { childList: true, characterData: true, subtree: true }); 1"""
try:
    for hashed, _, file in wanted:
        target = call("Target.createTarget", url="about:blank")["targetId"]
        session = call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        call("Runtime.enable", session), call("Page.enable", session)
        call("Page.navigate", session, url="file://%s#%s" % (os.path.realpath(page), hashed))
        until(session, "document.body && document.body.dataset.ready")
        if file.endswith(".html"):
            evaluate(session, WATCH)
            until(session, "window.seen.size >= 4")
            text = "%s\n<!-- shown: %s -->\n" % (evaluate(session, "document.documentElement.outerHTML"), evaluate(session, "[...seen].slice(0, 4).join(', ')"))
            with open(file, "w") as out:
                out.write(text)
        else:
            with open(file, "wb") as out:
                out.write(base64.b64decode(call("Page.captureScreenshot", session, format="png")["data"]))
        call("Target.closeTarget", targetId=target)
finally:
    os.killpg(child.pid, 9)
    child.wait()
    for _ in range(50):   # its children write into the profile until they are gone as well
        try:
            profile.cleanup()
            break
        except OSError:
            time.sleep(0.1)
print("\n".join(said))
sys.exit(bool(said))
