"""The face: the public Python API and the triptych command."""
