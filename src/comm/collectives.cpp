// Collectives on texts of any length, built from messages. A text travels as one packet of fixed
// size that holds its length and its beginning, and, where it is longer, one more message.
//
// gather: one step, r - 1 texts into rank 0. broadcast: a binomial tree, ceil(log2 r) steps, one
// text per rank and step; a rank receives once.

#include <algorithm>
#include <cstring>

#include "comm/world_impl.hpp"

namespace dbench::comm {
namespace {

constexpr size_t kPacket = 4096;
constexpr size_t kBeginning = kPacket - sizeof(uint64_t);

std::string packet(const std::string& text) {
    const uint64_t length = text.size();
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    return bytes.append(text, 0, kBeginning);
}

/// The text of a packet, its end yet to be filled in.
std::string unpack(const std::string& bytes) {
    uint64_t length;
    std::memcpy(&length, bytes.data(), sizeof length);
    std::string text(length, '\0');
    std::memcpy(text.data(), bytes.data() + sizeof length, std::min<size_t>(length, kBeginning));
    return text;
}

Message message(int rank, int tag, std::string& bytes) {
    return {rank, tag, bytes.data(), static_cast<int64_t>(bytes.size())};
}

/// What of `text` the packet had no room for.
void add_rest(std::vector<Message>& messages, int rank, int tag, std::string& text) {
    if (text.size() <= kBeginning) return;
    messages.push_back(
        {rank, tag, text.data() + kBeginning, static_cast<int64_t>(text.size() - kBeginning)});
}

}  // namespace

std::vector<std::string> World::Impl::gather(const std::string& what, const std::string& bytes,
                                             double seconds) {
    const int number = tag(collectives++);
    if (rank() != 0) {
        std::string first = packet(bytes), text = bytes;
        std::vector<Message> out{message(0, number, first)};
        add_rest(out, 0, number, text);
        move(what, Channel::collective, out, {}, seconds);
        return {};
    }
    std::vector<std::string> texts(static_cast<size_t>(size()));
    std::vector<Message> in;
    for (int r = 1; r < size(); ++r) {
        texts[r].resize(kPacket);
        in.push_back(message(r, number, texts[r]));
    }
    move(what, Channel::collective, {}, in, seconds);
    in.clear();
    texts[0] = bytes;
    for (int r = 1; r < size(); ++r) {
        texts[r] = unpack(texts[r]);
        add_rest(in, r, number, texts[r]);
    }
    move(what, Channel::collective, {}, in, seconds);
    return texts;
}

void World::Impl::broadcast(const std::string& what, std::string& bytes, double seconds) {
    const int number = tag(collectives++);
    // Rank r hears from r without its lowest one bit; it tells r + 1, r + 2, r + 4, ... below that
    // bit.
    int bit = 1;
    while (bit < size() && !(rank() & bit)) bit *= 2;
    if (rank() != 0) {
        const int from = rank() - bit;
        std::string first(kPacket, '\0');
        const Message in = message(from, number, first);
        move(what, Channel::collective, {}, {&in, 1}, seconds);
        bytes = unpack(first);
        std::vector<Message> rest;
        add_rest(rest, from, number, bytes);
        move(what, Channel::collective, {}, rest, seconds);
    }
    std::string first = packet(bytes);
    std::vector<Message> out;
    while ((bit /= 2) > 0) {
        const int to = rank() + bit;
        if (to >= size()) continue;
        out.push_back(message(to, number, first));
        add_rest(out, to, number, bytes);
    }
    move(what, Channel::collective, out, {}, seconds);
}

}  // namespace dbench::comm
