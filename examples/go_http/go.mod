module example.org/go_http

go 1.26
