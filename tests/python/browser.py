"""Headless Chromium over its debugging pipe: opens a page, evaluates expressions, takes pictures.

The pipe needs no port and no driver program: JSON messages that end with a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
_AXE = Path(__file__).parent / "vendor" / "axe.min.js"
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]


class Page:
    """One tab."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, back
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.messages: list[str] = []
        """The page's complaints: exceptions, console errors, refused requests."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """One command of the DevTools protocol; its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def open(
        self,
        file: Path,
        fragment: str = "",
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
    ) -> None:
        """Opens a page from a file."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=file.resolve().as_uri() + fragment)
        self.wait("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """The value of an expression, which is awaited."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition: str, tries: int = 400) -> None:
        """Waits until a condition holds; it is tried every 25 ms."""
        for _ in range(tries):
            if self.value(condition):
                return
            self.value("new Promise((done) => setTimeout(done, 25))")
        raise AssertionError(f"never true: {condition}")

    def texts(self, selector: str) -> list[str]:
        """The texts of the elements that match a selector."""
        found: list[str] = self.value(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.textContent)"
        )
        return found

    def violations(self) -> Any:
        """What axe-core finds inaccessible: its rules, each with the elements that break it."""
        self.value(_AXE.read_text(encoding="utf-8") + ";0")
        return self.value(
            "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>"
            " violations.map(({ id, nodes }) => [id, nodes.map((one) => one.html.slice(0, 120))]))"
        )

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """A mouse event at a point of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def picture(self, path: Path) -> None:
        """The window as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._back, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method", ""), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.messages.append(json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.messages.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "about:", "blob:", "data:")):
                self.messages.append(f"request to {url}")


@contextmanager
def browser() -> Iterator[Page]:
    """A tab in a browser of its own."""
    assert CHROMIUM is not None
    # the children of a browser that has ended may write a little longer
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        read_there, to = os.pipe()
        back, write_there = os.pipe()

        def connect() -> None:
            # the browser reads commands from descriptor 3 and writes answers to 4
            low, high = os.dup(read_there), os.dup(write_there)
            os.dup2(low, 3)
            os.dup2(high, 4)

        process = subprocess.Popen(
            [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=connect,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_there)
        os.close(write_there)
        try:
            yield Page(to, back)
        finally:
            process.terminate()
            process.wait()
            os.close(to)
            os.close(back)
