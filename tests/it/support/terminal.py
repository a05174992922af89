"""Runs a command on a terminal of its own and plays the person in front of it.

Arguments: the steps as JSON, then the command. Steps: ["wait", TEXT] until the terminal has shown it after what was waited
for before, ["send", TEXT], ["press", KEY, TEXT] once a second until it has shown that, ["size", ROWS, COLUMNS]. Prints
as JSON what was shown and how the command ended.
"""

import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios
import time

DEADLINE = time.monotonic() + 30


def size(descriptor, rows, columns):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def main():
    steps, command = json.loads(sys.argv[1]), sys.argv[2:]
    # The size is there before the command is.
    begin, go = os.pipe()
    pid, terminal = pty.fork()
    if pid == 0:
        os.close(go)
        os.read(begin, 1)
        os.close(begin)
        os.execv(command[0], command)
    os.close(begin)
    size(terminal, 33, 111)
    os.close(go)
    shown, seen = b"", 0

    def more(limit=None):
        nonlocal shown
        left = max(0, DEADLINE - time.monotonic())
        ready, _, _ = select.select([terminal], [], [], left if limit is None else min(left, limit))
        if not ready and limit is not None and limit < left:
            return None
        if not ready:
            raise TimeoutError(shown)
        try:
            bytes_ = os.read(terminal, 65536)
        except OSError:
            # Linux says so when nobody has the other end any more.
            bytes_ = b""
        shown += bytes_
        return bytes_

    for kind, *words in steps:
        if kind == "send":
            os.write(terminal, words[0].encode())
        elif kind == "press":
            # A signal can come between Python's look for one and its wait for keys, and would be seen with the next key.
            wanted = words[1].encode()
            os.write(terminal, words[0].encode())
            while wanted not in shown[seen:]:
                got = more(1)
                if got is None:
                    os.write(terminal, words[0].encode())
                elif not got:
                    raise EOFError((wanted, shown))
            seen = shown.index(wanted, seen) + len(wanted)
        elif kind == "size":
            size(terminal, *words)
        else:
            wanted = words[-1].encode()
            while kind == "press" and wanted not in shown[seen:]:
                if time.monotonic() > DEADLINE:
                    raise TimeoutError(shown)
                os.write(terminal, words[0].encode())
                while wanted not in shown[seen:] and select.select([terminal], [], [], 1)[0] and more():
                    pass
            while wanted not in shown[seen:]:
                if not more():
                    raise EOFError((wanted, shown))
            seen = shown.index(wanted, seen) + len(wanted)
    while more():
        pass
    status = os.waitpid(pid, 0)[1]
    code = os.waitstatus_to_exitcode(status)
    print(json.dumps({"shown": shown.decode(), "code": code}))


main()
