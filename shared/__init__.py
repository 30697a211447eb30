"""What both servers share: words, wire formats, errors and the habits of a web server."""
