"""What ``import gpureport`` offers: functions, data frames and plots."""
