"""Protection against untrusted text, unsafe answers and leaked secrets.

Any room above may import the modules without an underscore. A new check of text goes here; signs of attacks go
into `screening`."""
