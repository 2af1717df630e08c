// SPDX-License-Identifier: Apache-2.0
/*
 * Shares of connections. Connections are counted for a party: a user of this machine,
 * an address of IPv4, a /64 of IPv6. One that is not the owner gets a share; all of them together
 * leave some places to the owner's own processes. The last places need the whole proof of os/peer,
 * which a sandboxed command of the same user cannot give.
 *
 * Only the keeper accepts, so what is decided without the lock stays true. While there is plenty of
 * room nobody is looked up: that costs the keeper more than the rest of accepting.
 */
#include "net/server/internal.h"
#include "os/peer.h"

#include <string.h>
#include <unistd.h>

/** An address of IPv4, also where it is written as one of IPv6. */
static struct http_party party_of_address(const struct sockaddr_storage *address)
{
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    struct http_party party = {.origin = HTTP_ORIGIN_ADDRESS};
    if (address->ss_family == AF_INET) {
        party.number = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
    } else if (address->ss_family == AF_INET6) {
        const unsigned char *bytes = ((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr;
        bool is_mapped = memcmp(bytes, mapped, sizeof(mapped)) == 0;
        party.origin = is_mapped ? HTTP_ORIGIN_ADDRESS : HTTP_ORIGIN_NETWORK;
        memcpy(&party.number, is_mapped ? bytes + 12 : bytes, is_mapped ? 4 : 8);
    }
    return party;
}

/** Ends on this machine belong to users; what the kernel does not say is nobody's in particular. */
static struct http_party party_of(int fd, const struct sockaddr_storage *address)
{
    struct http_remote peer;
    uid_t user = (uid_t)-1;
    http_server_describe_peer(address, &peer);
    if (!peer.is_loopback) {
        return party_of_address(address);
    }
    bool is_known = peer_user(fd, &user);
    bool is_owner = is_known && (user == geteuid() || user == 0);
    return (struct http_party){.origin = is_owner ? HTTP_ORIGIN_OWNER : HTTP_ORIGIN_USER,
                               .number = user};
}

static void look_up(struct http_connection *connection)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof(address);
    if (connection->party.origin == HTTP_ORIGIN_UNKNOWN &&
        getpeername(connection->fd, (struct sockaddr *)&address, &len) == 0) {
        connection->party = party_of(connection->fd, &address);
    }
}

/** Connections of a party. Under the lock. */
static uint64_t count(struct http_server *server, const struct http_party *party)
{
    uint64_t found = 0;
    struct http_connection *connection = NULL;
    LIST_FOREACH(connection, &server->connections, link)
    {
        look_up(connection);
        found +=
            connection->party.origin == party->origin && connection->party.number == party->number;
    }
    return found;
}

bool http_server_has_room(struct http_server *server, int fd,
                          const struct sockaddr_storage *address)
{
    const uint64_t most = server->options.max_connections;
    const uint64_t open_to_all = most - most / HTTP_SERVER_RESERVED_SHARE;
    const uint64_t share = most / HTTP_SERVER_PEER_SHARE;
    pthread_mutex_lock(&server->lock);
    const uint64_t taken = server->connection_count;
    pthread_mutex_unlock(&server->lock);
    if (taken >= most || taken < most / HTTP_SERVER_CALM_SHARE) {
        return taken < most;
    }
    const struct http_party party = party_of(fd, address);
    if (party.origin == HTTP_ORIGIN_OWNER) {
        return taken < open_to_all || peer_is_same_user(fd);
    }
    pthread_mutex_lock(&server->lock);
    const uint64_t own = count(server, &party);
    pthread_mutex_unlock(&server->lock);
    return taken < open_to_all && own < (share > 0 ? share : 1);
}
