// Collectives on texts of any length, built from messages of the control plane. A text travels as
// one packet of at most 4 KiB, which holds its length and its beginning, and, where it is longer,
// one more message.
//
// Both go along a binomial tree of ceil(log2 r) steps: in a gather a rank receives from at most
// ceil(log2 r) others and sends once, in a broadcast the other way round. Why these and not MPI's:
// docs/decisions/0020-own-collectives.md.

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/framing.hpp"
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

/// Lowest one bit of a rank; of rank 0 the first power of two that no rank reaches.
int lowest_bit(int rank, int size) {
    int bit = 1;
    while (bit < size && !(rank & bit)) bit *= 2;
    return bit;
}

/// Seconds to wait for what is so many steps of a gather, or of a gather and the broadcast after
/// it, away from its cause: whoever waits for a silent rank itself is to be the first to say so.
double patient(double seconds, int steps) { return seconds * (1 + 0.1 * steps); }

}  // namespace

std::vector<std::string> World::Impl::gather(const std::string& what, const std::string& bytes,
                                             double seconds) {
    const int number = tag(control(), collectives++);
    // Rank r collects from r + 1, r + 2, r + 4, ... below its lowest one bit the texts of as many
    // ranks each, which then are those of [r, r + bit), and hands them to r without that bit.
    const int bit = lowest_bit(rank(), size());
    std::vector<int> children;
    for (int b = 1; b < bit && rank() + b < size(); b *= 2) children.push_back(rank() + b);
    const double patience =
        patient(seconds > 0 ? seconds : deadline, static_cast<int>(children.size()));
    std::vector<std::string> parts(children.size(), std::string(kPacket, '\0'));
    std::vector<Message> in;
    for (size_t k = 0; k < children.size(); ++k) {
        in.push_back(message(children[k], number, parts[k]));
    }
    move(what, control(), {}, in, patience);
    in.clear();
    for (size_t k = 0; k < children.size(); ++k) {
        parts[k] = unpack(parts[k]);
        add_rest(in, children[k], number, parts[k]);
    }
    move(what, control(), {}, in, patience);
    std::vector<std::string> texts{bytes};
    for (const std::string& part : parts) {
        for (std::string& text : base::split_texts(part)) texts.push_back(std::move(text));
    }
    if (rank() == 0) return texts;
    std::string all = base::join_texts(texts), first = packet(all);
    std::vector<Message> out{message(rank() - bit, number, first)};
    add_rest(out, rank() - bit, number, all);
    move(what, control(), out, {}, seconds);
    return {};
}

void World::Impl::broadcast(const std::string& what, std::string& bytes, double seconds) {
    const int number = tag(control(), collectives++);
    // Rank r hears from r without its lowest one bit; it tells r + 1, r + 2, r + 4, ... below that
    // bit.
    int bit = lowest_bit(rank(), size());
    if (rank() != 0) {
        const int steps = std::bit_width(static_cast<unsigned>(size() - 1)) +
                          std::popcount(static_cast<unsigned>(rank()));
        const double patience = patient(seconds > 0 ? seconds : deadline, steps);
        const int from = rank() - bit;
        std::string first(kPacket, '\0');
        const Message in = message(from, number, first);
        move(what, control(), {}, {&in, 1}, patience);
        bytes = unpack(first);
        std::vector<Message> rest;
        add_rest(rest, from, number, bytes);
        move(what, control(), {}, rest, patience);
    }
    std::string first = packet(bytes);
    std::vector<Message> out;
    while ((bit /= 2) > 0) {
        const int to = rank() + bit;
        if (to >= size()) continue;
        out.push_back(message(to, number, first));
        add_rest(out, to, number, bytes);
    }
    move(what, control(), out, {}, seconds);
}

}  // namespace dbench::comm
