"""What people decide about work: answers to its questions, comments on its lines, sending it back."""
