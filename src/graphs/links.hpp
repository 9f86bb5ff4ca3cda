#pragma once
// Latency and bandwidth between every pair of a run's slots, and the file format that holds them
// (`placement.links` of a spec).

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dbench::graphs {

/// Latency and bandwidth of every ordered pair of slots. Diagonal entries have no meaning.
struct Links {
    explicit Links(int slots = 0)
        : slots(slots),
          latency(static_cast<size_t>(slots) * static_cast<size_t>(slots), 0.0),
          bandwidth(latency.size(), 1.0) {}

    size_t at(int from, int to) const {
        return static_cast<size_t>(from) * static_cast<size_t>(slots) + static_cast<size_t>(to);
    }
    /// Returns the seconds that a message needs when the link carries nothing else.
    double seconds(int from, int to, double bytes) const {
        return latency[at(from, to)] + bytes / bandwidth[at(from, to)];
    }

    int slots;
    std::vector<double> latency;    ///< [slots, slots], from and to: seconds, at least 0.
    std::vector<double> bandwidth;  ///< [slots, slots], from and to: bytes per second, above 0.
};

/// The content of a links file. Each line is "FROM TO LATENCY BANDWIDTH" in seconds and bytes per
/// second, separated by blanks, tabs, commas or semicolons; `#` begins a comment. A line applies to
/// both directions unless the other direction has its own line. If every FROM and TO is a whole
/// number they name slots, otherwise hosts; a line "HOST HOST ..." describes two slots on the same
/// host.
class LinkTable {
public:
    /// Parses `content`; `path` names the file in errors. Throws UserError that names the line.
    LinkTable(const std::string& content, std::string path);

    /// The hosts in the order of the file; empty if the file names slots.
    const std::vector<std::string>& hosts() const { return hosts_; }
    /// Returns the links between slots 0, 1, ..., which are on these hosts. Throws UserError that
    /// names a pair without a line.
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

/// Reads a links file. Throws UserError.
LinkTable read_links(const std::string& path);

/// Writes `links` as a links file by slots, with the hosts of the slots in comments.
std::string to_text(const Links& links, const std::vector<std::string>& hosts);

}  // namespace dbench::graphs
