// Collectives on texts of any length, built from messages of the control transport. A text travels
// as one packet of at most 4 KiB, which holds its length and its beginning, and, where it is
// longer, one more message.

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/framing.hpp"
#include "comm/world/collection.hpp"
#include "comm/world/collective.hpp"
#include "comm/world/world_impl.hpp"

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

/// Lowest one bit of a rank; of rank 0 the first power of two that no rank reaches.
int lowest_bit(int rank, int size) {
    int bit = 1;
    while (bit < size && !(rank & bit)) bit *= 2;
    return bit;
}

/// Seconds to wait for what is so many steps of a collective away from its cause: whoever waits for
/// a silent rank itself is to be the first to say so.
double patient(double seconds, int steps) { return seconds * (1 + 0.1 * steps); }

}  // namespace

// Rank r collects from r + 1, r + 2, r + 4, ... below its lowest one bit the texts of as many ranks
// each, which then are those of [r, r + bit), and hands them to r without that bit. Down, it hears
// from there and tells those.
Collective::Collective(const Place& place, Way way, std::string text, Answer answer)
    : place_(place),
      way_(way),
      bit_(lowest_bit(place.rank, place.size)),
      answer_(std::move(answer)),
      text_(std::move(text)) {
    for (int b = 1; b < bit_ && place.rank + b < place.size; b *= 2) {
        children_.push_back(place.rank + b);
    }
    if (way != Way::down) {
        steps_ = {&Collective::receive_beginnings, &Collective::receive_ends, &Collective::hand_up};
    }
    if (way == Way::up) return;
    if (place.rank != 0) {
        steps_.insert(steps_.end(), {&Collective::hear_beginning, &Collective::hear_end});
    }
    steps_.push_back(&Collective::tell);
}

int Collective::steps_up() const {
    return way_ == Way::down ? 0 : static_cast<int>(children_.size());
}

int Collective::steps_down() const {
    if (way_ == Way::up || place_.rank == 0) return 0;
    return std::bit_width(static_cast<unsigned>(place_.size - 1)) +
           std::popcount(static_cast<unsigned>(place_.rank));
}

bool Collective::advance() {
    for (;;) {
        if (transfer_ && !transfer_->test()) return false;
        transfer_.reset();
        if (next_ == steps_.size()) return true;
        (this->*steps_[next_++])();
    }
}

std::vector<int> Collective::owing() const {
    return transfer_ ? transfer_->owing() : std::vector<int>{};
}

void Collective::start(std::vector<Message> out, std::vector<Message> in) {
    if (!out.empty() || !in.empty()) transfer_ = place_.transport.start(out, in);
}

Message Collective::message(int rank, std::string& bytes) const {
    return {rank, place_.tag, bytes.data(), static_cast<int64_t>(bytes.size())};
}

/// What of `text` the packet had no room for.
void Collective::add_rest(std::vector<Message>& messages, int rank, std::string& text) const {
    if (text.size() <= kBeginning) return;
    messages.push_back({rank, place_.tag, text.data() + kBeginning,
                        static_cast<int64_t>(text.size() - kBeginning)});
}

void Collective::receive_beginnings() {
    parts_.assign(children_.size(), std::string(kPacket, '\0'));
    std::vector<Message> in;
    for (size_t k = 0; k < children_.size(); ++k) in.push_back(message(children_[k], parts_[k]));
    start({}, std::move(in));
}

void Collective::receive_ends() {
    std::vector<Message> in;
    for (size_t k = 0; k < children_.size(); ++k) {
        parts_[k] = unpack(parts_[k]);
        add_rest(in, children_[k], parts_[k]);
    }
    start({}, std::move(in));
}

void Collective::hand_up() {
    texts_.push_back(std::move(text_));
    for (const std::string& part : parts_) {
        for (std::string& text : base::split_texts(part)) texts_.push_back(std::move(text));
    }
    parts_.clear();
    gathered_.store(true, std::memory_order_release);
    if (place_.rank == 0) {
        if (answer_) text_ = answer_(texts_);
        return;
    }
    text_ = base::join_texts(texts_);
    texts_.clear();
    packet_ = packet(text_);
    std::vector<Message> out{message(place_.rank - bit_, packet_)};
    add_rest(out, place_.rank - bit_, text_);
    start(std::move(out), {});
}

void Collective::hear_beginning() {
    packet_.assign(kPacket, '\0');
    start({}, {message(place_.rank - bit_, packet_)});
}

void Collective::hear_end() {
    text_ = unpack(packet_);
    std::vector<Message> rest;
    add_rest(rest, place_.rank - bit_, text_);
    start({}, std::move(rest));
}

void Collective::tell() {
    packet_ = packet(text_);
    std::vector<Message> out;
    for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
        out.push_back(message(*child, packet_));
        add_rest(out, *child, text_);
    }
    start(std::move(out), {});
}

std::shared_ptr<Collective> World::Impl::collective(Collective::Way way, std::string text,
                                                    Collective::Answer answer) {
    const Collective::Place place{control(), rank(), size(), tag(collectives++, control().tags())};
    return std::make_shared<Collective>(place, way, std::move(text), std::move(answer));
}

void World::Impl::wait(const std::string& what, Collective& collective, double seconds) {
    if (engine.test(collective)) return;
    if (seconds <= 0) seconds = deadline;
    const Engine::Waiting waiting(engine);
    const auto owing = [&] { return engine.owing(collective); };
    try {
        wait(
            what, [&] { return engine.test(collective) || collective.gathered(); }, owing,
            patient(seconds, collective.steps_up()));
        wait(
            what, [&] { return engine.test(collective); }, owing,
            patient(seconds, collective.steps_down()));
    } catch (...) {
        failed = true;
        throw;
    }
}

std::vector<std::string> World::Impl::gather(const std::string& what, const std::string& bytes) {
    const auto gathering = collective(Collective::Way::up, bytes);
    wait(what, *gathering);
    return std::move(gathering->texts());
}

void World::Impl::broadcast(const std::string& what, std::string& bytes) {
    const auto telling = collective(Collective::Way::down, bytes);
    wait(what, *telling);
    bytes = std::move(telling->text());
}

std::string World::Impl::answer(const std::string& what, const std::string& bytes,
                                Collective::Answer answer, double seconds) {
    const auto asking = collective(Collective::Way::both, bytes, std::move(answer));
    wait(what, *asking, seconds);
    return std::move(asking->text());
}

Collection::Collection(World& world, std::string what, std::string text, Answer answer)
    : world_(world.impl()),
      what_(std::move(what)),
      collective_(world_.collective(Collective::Way::both, std::move(text), std::move(answer))) {
    world_.engine.start(collective_, true);
}

Collection::~Collection() = default;

bool Collection::done() const { return collective_->done(); }

const std::vector<std::string>& Collection::texts() {
    world_.wait(what_, *collective_);
    return collective_->texts();
}

const std::string& Collection::answer() {
    world_.wait(what_, *collective_);
    return collective_->text();
}

}  // namespace dbench::comm
