"""The parts of AWS that run on this machine: API Gateway, Lambda, EventBridge Scheduler, DynamoDB.

`service` and the tests start them. Add another managed service of AWS here."""
