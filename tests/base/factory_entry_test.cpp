// Rows of tables whose factory gets a struct instead of JSON.

#include "base/factory_entry.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "catch.hpp"

namespace dbench::base {
namespace {

struct SharedSpec {
    double rate;
    Json inner;
    static const Section<SharedSpec>& section() {
        static const Section<SharedSpec> keys{
            {Parameter::number("rate", "0.5", ""), &SharedSpec::rate},
            {Parameter::any("inner", "\"ring\"", ""), &SharedSpec::inner},
        };
        return keys;
    }
};

struct OwnSpec : SharedSpec {
    std::vector<double> numbers;
    static const Section<OwnSpec>& section() {
        static const Section<OwnSpec> keys{
            {{Parameter::numbers("numbers", "[1, 2]", ""), &OwnSpec::numbers}},
            SharedSpec::section()};
        return keys;
    }
};

/// A section that places a key of its base class before its own.
struct MixedSpec : SharedSpec {
    int64_t count;
    static const Section<MixedSpec>& section() {
        static const Section<MixedSpec> keys{
            {Parameter::number("rate", "2", ""), &SharedSpec::rate},
            {Parameter::integer("count", "3", ""), &MixedSpec::count},
        };
        return keys;
    }
};

using SumEntry = FactoryEntry<std::unique_ptr<double>(double)>;

double result(const SumEntry& entry, const char* given) {
    const Json spec = resolve_member(Json::parse(given), "", "sum", {&entry});
    return *entry.make(spec, 100);
}

}  // namespace

TEST_CASE("A factory receives the values of its entry's keys") {
    const SumEntry entry(
        "own", "help", +[](const OwnSpec& spec, double more) {
            return std::make_unique<double>(spec.numbers.at(0) + spec.numbers.at(1) + spec.rate +
                                            more);
        });
    CHECK(entry.name == "own");
    CHECK(entry.help == "help");
    REQUIRE(entry.parameters.size() == 3);
    CHECK(entry.parameters[0].name == "numbers");
    CHECK(entry.parameters[1].name == "rate");
    CHECK(entry.parameters[2].name == "inner");
    CHECK(result(entry, "\"own\"") == 103.5);
    CHECK(result(entry, R"({"type": "own", "numbers": [5, 6], "rate": 0})") == 111);
}

TEST_CASE("A section stores keys in members of a base class") {
    const SumEntry entry(
        "mixed", "", +[](const MixedSpec& spec, double more) {
            return std::make_unique<double>(spec.rate * static_cast<double>(spec.count) + more);
        });
    CHECK(entry.parameters.at(0).name == "rate");
    CHECK(result(entry, "\"mixed\"") == 106);
}

TEST_CASE("A key of any kind is stored as JSON") {
    const auto spec = SharedSpec::section().read(Json{{"rate", 1}, {"inner", {{"type", "star"}}}});
    CHECK(spec.inner.at("type") == "star");
}

TEST_CASE("An entry without keys refuses all keys") {
    const SumEntry entry(
        "none", "", +[](const NoKeys&, double more) { return std::make_unique<double>(more); });
    CHECK(entry.parameters.empty());
    CHECK(result(entry, "\"none\"") == 100);
    CHECK_THROWS_WITH(result(entry, R"({"type": "none", "k": 1})"),
                      "/k: unknown key; this object has no keys");
}

}  // namespace dbench::base
