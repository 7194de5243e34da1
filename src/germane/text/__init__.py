"""Text: analysis of strings (terms, language, normal forms, sentences); pure functions of the text alone."""
