"""What a conversation costs: tokens by meter and by provider usage."""
