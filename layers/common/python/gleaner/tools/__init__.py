"""The tools that the model may call, one module each. A new tool is added to `registry`."""
