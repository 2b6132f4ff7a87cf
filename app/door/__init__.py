"""The door: checks that every request and websocket passes, whichever face it is for."""
