// Copied, not fetched: see ../README.md.
module example.com/dlock

go 1.21
