"""Text: analysis of strings (stems, language, normal forms, traits); pure functions of the text alone."""
