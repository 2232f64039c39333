"""What touches the world: processes, sockets, terminals, buses, displays, databases. Adapters decide nothing."""
