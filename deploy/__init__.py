"""What installs, starts and watches Pairway; imports shared and nothing of the servers."""
