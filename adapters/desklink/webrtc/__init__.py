"""The WebRTC peer connections of the engine: ICE, DTLS, the control channel and the sending of pictures, one module each."""
