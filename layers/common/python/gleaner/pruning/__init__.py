"""Pruning of keywords: settings, rules and runs.

The API and the pruning function import all three. A new rule goes into `rules`, its effect into `run`.
"""
