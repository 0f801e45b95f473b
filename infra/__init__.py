"""The CDK app: typed configuration in, stacks out."""
