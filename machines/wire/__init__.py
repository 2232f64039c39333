"""From bytes to a checked message: strict JSON text, the fast decoder and the explaining walker."""
