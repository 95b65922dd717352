"""The parts of AWS that run on this machine: API Gateway, Lambda, EventBridge Scheduler, DynamoDB.

`service` and the tests start them. A new managed service of AWS goes here."""
