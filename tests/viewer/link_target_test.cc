// What links mean in a log, and that they mean the same when the log has grown.
#include "viewer/models/link_target.h"

#include <gtest/gtest.h>

#include "tests/viewer/demo_log.h"
#include "tests/viewer/link_session.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

class LinkTargetTest : public ::testing::Test {
 protected:
  LinkSession Load(int steps) {
    return testing::LoadForLinks(testing::WriteDemoLog(folder_, {.steps = steps}).toStdString());
  }

  LinkTarget Find(const LinkSession& in, const char* fragment) {
    QStringList problems;
    const Link link = ParseLink(QString::fromUtf8(fragment), &problems);
    EXPECT_TRUE(problems.isEmpty()) << fragment;
    return FindTarget(in, link, 0, {});
  }
  // The allocation that was born last in a layer, and is of a site.
  analysis::AllocationId Last(const LinkSession& in, analysis::Layer layer) {
    const auto records = in.session->records();
    for (std::size_t i = records.size(); i-- > 0;)
      if (records[i].layer == layer && records[i].stack.valid())
        return analysis::AllocationId(static_cast<std::uint32_t>(i));
    ADD_FAILURE();
    return {};
  }

  QTemporaryDir folder_;
};

TEST_F(LinkTargetTest, InstantsAndWindowsAreOfTheLog) {
  const LinkSession in = Load(6);
  const auto steps = in.session->steps();
  EXPECT_EQ(Find(in, "step=3").instant, steps[3].end - 1) << "its end, as memprof peak --at=step=3";
  EXPECT_EQ(Find(in, "at=0s").instant, in.bounds.begin);
  EXPECT_EQ(Find(in, "at=1000h").instant, in.bounds.end) << "no later than the end";
  EXPECT_EQ(Find(in, "at=end").instant, in.bounds.end);
  EXPECT_EQ(Find(in, "at=event7").instant, in.session->events().time(7));
  EXPECT_FALSE(Find(in, "at=peak").instant.has_value()) << "no timelines";
  const auto window = Find(in, "window=step1-step2").window;
  ASSERT_TRUE(window.has_value());
  EXPECT_EQ(window->begin, steps[1].begin);
  EXPECT_EQ(window->end, steps[2].end - 1);
  EXPECT_EQ(Find(in, "device=0").device, 0);
  EXPECT_EQ(Find(in, "device=host").device, analysis::kNoDevice);
  EXPECT_FALSE(Find(in, "").filter.has_value());
  EXPECT_EQ(Find(in, "process=0").filter->process, 0u);
}

TEST_F(LinkTargetTest, WhatTheLogDoesNotHaveIsNamed) {
  const LinkSession in = Load(3);
  for (const char* fragment : {"step=99", "at=event999999", "device=7", "site=nowhere.cc:1",
                               "stack=00000000", "allocation=block:0x1@0s", "rank=3", "process=9",
                               "window=2s-1s", "window=step9-end", "only=nowhere.cc:1"}) {
    const LinkTarget target = Find(in, fragment);
    EXPECT_EQ(target.problems.size(), 1) << fragment;
    EXPECT_FALSE(target.instant || target.window || target.filter || target.device) << fragment;
    EXPECT_FALSE(target.site.valid() || target.allocation.valid()) << fragment;
  }
}

TEST_F(LinkTargetTest, OnlyFilesOfTheLogAreFiles) {
  const LinkSession in = Load(3);
  std::string file;
  for (std::uint32_t i = 0; i < in.session->stack_count() && file.empty(); ++i)
    for (const analysis::SourceFrame& frame : in.symbols->ResolveStack(analysis::StackId(i)))
      if (!frame.file.empty()) file = frame.file;
  ASSERT_FALSE(file.empty());
  const QString whole = ToQString(file);
  Link link;
  link.state.by = QStringLiteral("site");
  for (const QString& name : {whole, BaseName(whole)}) {
    link.state.file = name;
    const LinkTarget target = FindTarget(in, link, 0, {});
    EXPECT_EQ(target.state.file, whole) << name.toStdString();
    EXPECT_TRUE(target.problems.isEmpty());
  }
  // Not by a part of a name, and nothing else of the machine.
  for (const QString& name : {BaseName(whole).mid(1), QStringLiteral("/etc/passwd")}) {
    link.state.file = name;
    const LinkTarget target = FindTarget(in, link, 0, {});
    EXPECT_EQ(target.state.file, QString()) << name.toStdString();
    EXPECT_EQ(target.state.by, QStringLiteral("site"));
    EXPECT_EQ(target.problems.size(), 1);
  }
}

TEST_F(LinkTargetTest, SitesAreFoundByTheirPlace) {
  const LinkSession in = Load(4);
  const analysis::AllocationId one = Last(in, analysis::Layer::kBlock);
  const analysis::StackId stack = in.session->record(one).stack;
  const analysis::SourceFrame site = in.symbols->Site(stack);
  Link link;
  link.site.place = ToQString(site.function);
  LinkTarget target = FindTarget(in, link, 0, {});
  ASSERT_TRUE(target.site.valid()) << site.function;
  EXPECT_EQ(in.symbols->Site(target.site).function, site.function);
  // The hash alone, and with a place that it is not at.
  link.site = {{}, StackHash(*in.symbols, stack)};
  EXPECT_EQ(FindTarget(in, link, 0, {}).site, stack);
  link.site.place = QStringLiteral("nowhere.cc:1");
  EXPECT_FALSE(FindTarget(in, link, 0, {}).site.valid());
  // A place without its stack is the place.
  link.site = {ToQString(site.function), QStringLiteral("00000000")};
  EXPECT_TRUE(FindTarget(in, link, 0, {}).site.valid());
}

TEST_F(LinkTargetTest, APlaceIsTheSameInALogThatHasGrown) {
  const LinkSession in = Load(6);
  SelectionState state;
  state.device = 0;
  state.axis = AxisKind::kSteps;
  state.instant = in.session->steps()[2].begin + 5;
  state.window = {in.bounds.begin + 1000, in.bounds.begin + 2'000'000};
  state.allocation = Last(in, analysis::Layer::kBlock);
  state.site = in.session->record(state.allocation).stack;
  state.filter.site = state.site;
  state.filter.process = 0;
  state.filter.text = "attn & q";
  const QString text = LinkText(LinkOf(in, state));
  QStringList problems;
  const Link link = ParseLink(text, &problems);
  EXPECT_TRUE(problems.isEmpty()) << text.toStdString();
  EXPECT_EQ(link.axis, AxisKind::kSteps);
  const LinkTarget same = FindTarget(in, link, 0, {});
  EXPECT_TRUE(same.problems.isEmpty()) << same.problems.join(u';').toStdString();
  EXPECT_EQ(same.allocation, state.allocation);
  EXPECT_EQ(same.site, state.site);
  EXPECT_EQ(same.instant, state.instant);
  ASSERT_TRUE(same.window.has_value());
  EXPECT_EQ(same.window->begin, state.window->begin);
  EXPECT_EQ(same.window->end, state.window->end);
  EXPECT_TRUE(same.filter == state.filter);
  const LinkSession more = Load(12);
  const LinkTarget grown = FindTarget(more, link, 0, {});
  EXPECT_TRUE(grown.problems.isEmpty()) << grown.problems.join(u';').toStdString();
  ASSERT_TRUE(grown.allocation.valid());
  const auto was = in.session->record(state.allocation);
  const auto is = more.session->record(grown.allocation);
  EXPECT_EQ(is.address, was.address);
  EXPECT_EQ(is.bytes, was.bytes);
  EXPECT_EQ(StackHash(*more.symbols, grown.site), StackHash(*in.symbols, state.site));
}

}  // namespace
}  // namespace memprof::viewer
