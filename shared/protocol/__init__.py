"""What crosses a socket: messages, errors, headers, deadlines."""
