"""DynamoDB: the schema of the tables, and one class for each kind of record or operation."""
