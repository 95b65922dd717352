"""DynamoDB: one concrete class per table family."""
