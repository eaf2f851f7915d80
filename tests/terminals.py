"""What a process shows on a terminal of its own."""

import os
import pty


def shown_on_a_terminal(start):
    """The process that ``start`` makes with its three streams on a terminal, and all that it shows until its end."""
    ours, theirs = pty.openpty()
    process = start(stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    return process, shown.decode()
