// SPDX-License-Identifier: Apache-2.0
/*
 * The floor under the first request of an agent: connect, send a request, read a reply. Linked with
 * the C library alone.
 *
 *   bench_agent_send PORT PATH
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static const char body[] =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    if (argc != 3) {
        return 2;
    }
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    char request[1024];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int len = snprintf(request, sizeof(request),
                       "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\n\r\n%s",
                       argv[2], sizeof(body) - 1, body);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        send(fd, request, (size_t)len, 0) != len || recv(fd, request, sizeof(request), 0) <= 0) {
        perror("bench_agent_send");
        return 2;
    }
    close(fd);
    return 0;
}
