"""Prints, at the end, how many files of each type were tried."""


def pytest_terminal_summary(terminalreporter):
    done = (report for reports in terminalreporter.stats.values() for report in reports)
    for report in done:
        for name, text in getattr(report, "user_properties", ()):
            if name == "fuzz" and getattr(report, "when", "") == "call":
                terminalreporter.write_line(text)
