# A build of some small C programs, each an object by itself.
objects = $(patsubst %.c,%.o,$(wildcard *.c))
all: $(objects)
%.o: %.c
	cc -O1 -c -o $@ $<
