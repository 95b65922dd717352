"""The outside world of a machine without internet: the descriptions of the installed Python packages."""
