"""Text: what is true of a string whoever asks. Pure; knows of no store, no source and no model."""
