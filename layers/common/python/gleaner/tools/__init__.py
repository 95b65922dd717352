"""The tools the model may call: one module each."""
