"""The outside world of a machine without internet: the descriptions of the Python packages installed beside it."""
