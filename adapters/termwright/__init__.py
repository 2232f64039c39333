"""The terminal panel's pty, socket and emulator."""
