"""Archive: what compactions took out of stored conversations, with its summaries."""
