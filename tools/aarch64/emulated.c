/* The program python of a root for 64-bit ARM: it starts the emulator with Python and the arguments.
   Where the system runs programs of other processors by itself, it is not needed; elsewhere Python starts processes by it. */
#include <unistd.h>

int main(int count, char **arguments) {
    char *line[count + 5];
    line[0] = "qemu-aarch64-static";
    line[1] = "-0"; /* the name of the program, by which Python finds its library */
    line[2] = "/usr/bin/python3.11";
    line[3] = "/usr/bin/python3.11.aarch64";
    for (int k = 1; k <= count; ++k) line[k + 3] = arguments[k]; /* with the null at the end */
    execv("/usr/bin/qemu-aarch64-static", line);
    return 127;
}
