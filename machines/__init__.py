"""What decides. Pure: no socket, no thread, no clock, no file; bytes or messages and the time go in, messages and effects come out."""
