#include "comm/world/control_messages.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/clock.hpp"

namespace dbench::comm {
namespace {

constexpr double kAnswerSeconds = 2;  // seconds without an answer after which no question is sent
constexpr size_t kMostLinks = 8;      // links of the chain that an error names
/// The first byte of a message is its kind.
constexpr char kFailure = 'F', kQuestion = '?', kWaits = 'w', kComputes = 'c', kProgress = 'p';

/// Returns "3,5,": as many ranks as fit in a control message.
std::string numbers(const std::vector<int>& ranks) {
    std::string text;
    for (const int rank : ranks) {
        const std::string number = std::to_string(rank) + ",";
        if (text.size() + number.size() >= ControlTransport::kLongestControlMessage) break;
        text += number;
    }
    return text;
}

std::vector<int> parse_numbers(const std::string& text) {
    std::vector<int> ranks;
    const char *at = text.data(), *end = at + text.size();
    for (int rank = 0; at < end; ++at) {
        const auto [next, error] = std::from_chars(at, end, rank);
        if (error != std::errc()) break;
        ranks.push_back(rank);
        at = next;
    }
    return ranks;
}

}  // namespace

ControlMessages::ControlMessages(ControlTransport& control, int rank, int size)
    : control_(control), rank_(rank), size_(size) {}

void ControlMessages::drop_sent() {
    sent_.remove_if([](const Sent& sent) { return sent.transfer->test(); });
}

std::optional<ControlMessage> ControlMessages::take() {
    drop_sent();
    while (auto message = control_.take_control_message()) {
        if (message->text.empty()) continue;
        const char kind = message->text[0];
        message->text.erase(0, 1);
        if (kind == kFailure) return message;
        if (kind == kQuestion) answer(message->rank);
        if (kind == kProgress) last_progress_ = base::now();
        if (kind == kWaits || kind == kComputes) {
            answers_[message->rank] = {kind == kWaits, parse_numbers(message->text)};
        }
    }
    return {};
}

ControlMessages::Waiting::Waiting(ControlMessages& control_messages,
                                  const std::function<std::vector<int>()>& awaited_ranks)
    : messages_(control_messages),
      before_(std::exchange(control_messages.waiting_, &awaited_ranks)) {}

ControlMessages::Waiting::~Waiting() { messages_.waiting_ = before_; }

void ControlMessages::send(int to, std::string text) {
    std::list<Sent> one;  // kept only if its transfer could be started
    Sent& sent = one.emplace_back(Sent{std::move(text), nullptr});
    sent.transfer = control_.start_control_message(to, sent.text);
    sent_.splice(sent_.end(), one);
}

std::vector<int> ControlMessages::awaited_ranks() const {
    return waiting_ ? (*waiting_)() : std::vector<int>{};
}

void ControlMessages::answer(int to) {
    send(to, waiting_ ? kWaits + numbers(awaited_ranks()) : std::string(1, kComputes));
}

StallDiagnosis ControlMessages::diagnose_stall(const std::function<bool()>& done,
                                               const std::function<void()>& check) {
    answers_.clear();
    stalled_on_.reset();
    std::set<int> asked{rank_};
    answers_[rank_] = {true, awaited_ranks()};
    Backoff backoff;
    double last = base::now();
    for (size_t known = 0; !done() && base::now() - last < kAnswerSeconds;) {
        std::vector<int> next;
        for (const auto& [rank, answer] : answers_) {
            for (const int other : answer.awaited_ranks) next.push_back(other);
        }
        if (answers_[rank_].awaited_ranks.empty()) {
            for (int other = 0; other < size_; ++other) next.push_back(other);
        }
        for (const int other : next) {
            if (asked.insert(other).second) send(other, std::string(1, kQuestion));
        }
        if (answers_.size() > known) last = base::now();
        known = answers_.size();
        if (known == asked.size()) break;
        backoff.pause();
        check();
    }
    if (!done()) stalled_on_ = awaited_ranks();
    return diagnosis(asked);
}

/// The ranks that hold up the others are those that do not answer, or else those that compute while
/// others wait for them.
StallDiagnosis ControlMessages::diagnosis(const std::set<int>& asked) const {
    std::vector<int> silent, computing, waiting;
    for (const int rank : asked) {
        const auto found = answers_.find(rank);
        auto& kind = found == answers_.end() ? silent : found->second.waiting ? waiting : computing;
        kind.push_back(rank);
    }
    StallDiagnosis diagnosis;
    if (!silent.empty()) {
        diagnosis.culprit = "no answer from " + to_text(silent);
    } else if (!computing.empty()) {
        diagnosis.culprit = to_text(computing) + (computing.size() == 1 ? " waits" : " wait") +
                            " for nobody, but" + (computing.size() == 1 ? " has" : " have") +
                            " sent nothing";
    } else if (waiting.size() > 1) {
        diagnosis.culprit = to_text(waiting) + " wait for one another";
    } else {
        diagnosis.culprit = "no answer from the other ranks";
    }
    size_t links = 0;
    for (const int rank : waiting) {
        const std::vector<int>& awaited_ranks = answers_.at(rank).awaited_ranks;
        if (awaited_ranks.empty() || ++links > kMostLinks) continue;
        diagnosis.chain +=
            "; rank " + std::to_string(rank) + " waits for " + to_text(awaited_ranks);
    }
    if (links > kMostLinks) {
        diagnosis.chain += "; and so do " + std::to_string(links - kMostLinks) + " others";
    }
    return diagnosis;
}

void ControlMessages::tell_progress() {
    for (int other = 0; other < size_; ++other) {
        if (other != rank_) send(other, std::string(1, kProgress));
    }
}

void ControlMessages::report_failure(const std::string& message, double seconds) {
    // A rank that gave up because of other ranks keeps naming them. A rank that failed on its own
    // stops answering, so that others name it.
    const std::function<std::vector<int>()> others = [this] { return *stalled_on_; };
    const Waiting waiting(*this, others);
    send(0, kFailure + message.substr(0, ControlTransport::kLongestControlMessage - 1));
    Backoff backoff;
    for (const double start = base::now(); base::now() - start < seconds;) {
        stalled_on_ ? static_cast<void>(take()) : drop_sent();
        backoff.pause();
    }
}

}  // namespace dbench::comm
