"""Stored runs of many devices: a store of Parquet files, queries, and the comparison of each device with its peers."""
