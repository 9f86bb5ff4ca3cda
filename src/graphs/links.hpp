#pragma once
// How fast the places of a run reach each other: latency and bandwidth of every pair of slots.

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dbench::graphs {

/// Between slots; the diagonal means nothing.
struct Links {
    explicit Links(int slots = 0)
        : slots(slots),
          latency(static_cast<size_t>(slots) * static_cast<size_t>(slots), 0.0),
          bandwidth(latency.size(), 1.0) {}

    size_t at(int from, int to) const {
        return static_cast<size_t>(from) * static_cast<size_t>(slots) + static_cast<size_t>(to);
    }
    /// Of a message, alone on its way.
    double seconds(int from, int to, double bytes) const {
        return latency[at(from, to)] + bytes / bandwidth[at(from, to)];
    }

    int slots;
    std::vector<double> latency;    ///< [slots, slots], from and to: seconds, at least 0
    std::vector<double> bandwidth;  ///< [slots, slots], from and to: bytes a second, above 0
};

/// Links as a file has them: lines "FROM TO LATENCY BANDWIDTH" in seconds and bytes a second,
/// separated by blanks, tabs, commas or semicolons; `#` begins a comment. A line holds for both
/// directions unless the other one has a line of its own. FROM and TO are slots where all of them
/// are whole numbers, else hosts; a line "HOST HOST ..." is of slots on one host.
class LinkTable {
public:
    /// `path` names the file in errors. Throws UserError, naming the line.
    LinkTable(const std::string& content, std::string path);

    /// The hosts, in the order of the file; none where it is by slots.
    const std::vector<std::string>& hosts() const { return hosts_; }
    /// Of slots 0, 1, ... on these hosts. Throws UserError, naming a pair without a line.
    Links between(const std::vector<std::string>& hosts) const;

private:
    struct Line {
        size_t number;
        double latency, bandwidth;
    };
    const Line* find(const std::string& from, const std::string& to) const;

    std::string path_;
    std::vector<std::string> hosts_;
    std::map<std::pair<std::string, std::string>, Line> lines_;
};

/// Throws UserError.
LinkTable read_links(const std::string& path);

/// A file of links by slots, with the slots' hosts in comments.
std::string to_text(const Links& links, const std::vector<std::string>& hosts);

}  // namespace dbench::graphs
