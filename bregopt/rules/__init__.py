"""What steers a method: extrapolation, step and stopping."""
