"""What several test modules share: stand-ins, made data, the source as the rules see it."""
