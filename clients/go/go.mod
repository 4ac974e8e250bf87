module example.com/dlock

go 1.21
