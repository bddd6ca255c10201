// What the user opens: drops and dialogs, and what a stranger left in the settings or in a link.
#include <gtest/gtest.h>

#include <QApplication>
#include <QDropEvent>
#include <QInputDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QTimer>
#include <functional>

#include "tests/viewer/fake_ssh.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/models/left_places.h"
#include "viewer/models/notes.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/notice_bar.h"
#include "viewer/window/notes_dialog.h"
#include "viewer/window/notes_menu.h"

namespace memprof::viewer {
namespace {

using testing::FakeSsh;

// Answers the next modal dialog of this kind, once it is there.
template <typename Dialog>
void Answer(const std::function<void(Dialog*)>& answer) {
  auto* timer = new QTimer(qApp);
  QObject::connect(timer, &QTimer::timeout, timer, [timer, answer] {
    auto* dialog = qobject_cast<Dialog*>(QApplication::activeModalWidget());
    if (dialog == nullptr) return;
    timer->stop();
    timer->deleteLater();
    answer(dialog);
  });
  timer->start(5);
}

class OpeningTest : public testing::WindowFixture {
 protected:
  static bool Drop(QWidget* onto, const QList<QUrl>& urls) {
    QMimeData data;
    data.setUrls(urls);
    QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    enter.ignore();
    QApplication::sendEvent(onto, &enter);
    if (!enter.isAccepted()) return false;
    QDropEvent drop(QPointF(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    drop.ignore();
    QApplication::sendEvent(onto, &drop);
    return drop.isAccepted();
  }
  // A process of its own each time.
  QString Log(const char* name, int steps) {
    analysis::testing::LogBuilder log;
    testing::FillDemoLog(log, {.steps = steps});
    log.header().set_pid(++pid_);
    const QString path = directory_.filePath(QString::fromUtf8(name));
    EXPECT_TRUE(log.WriteTo(path.toStdString()).ok());
    return path;
  }
  QAction* Action(const char* part) {
    for (QAction* action : window_.findChildren<QAction*>())
      if (action->text().remove(QLatin1Char('&')).contains(QString::fromUtf8(part))) return action;
    ADD_FAILURE() << part;
    return nullptr;
  }
  void Settle() { window_.WaitUntilSettled(); }

  std::uint32_t pid_ = 100;
};

TEST_F(OpeningTest, SeveralFilesAreDroppedAsOneJob) {
  window_.show();
  const QString a = Log("a.mprof", 3), b = Log("b #x=1.mprof", 4);
  ASSERT_TRUE(Drop(&window_, {QUrl::fromLocalFile(a), QUrl(QStringLiteral("https://x.org/c")),
                              QUrl::fromLocalFile(b)}));
  Settle();
  ASSERT_EQ(window_.document().state(), Document::State::kReady)
      << window_.document().error().toStdString();
  EXPECT_EQ(window_.document().paths(), QStringList({a, b}));
  EXPECT_EQ(window_.document().session()->processes().size(), 2u);
  EXPECT_FALSE(Drop(&window_, {QUrl(QStringLiteral("https://x.org/c.mprof"))}));
  EXPECT_FALSE(Drop(&window_, {}));
  EXPECT_EQ(window_.document().paths().size(), 2);
}

TEST_F(OpeningTest, AFileOfAnotherMachineIsDropped) {
  window_.show();
  const QString log = Log("it is.mprof", 3);
  QUrl url(QStringLiteral("sftp://ann@node7:2222"));
  url.setPath(log);
  {
    const FakeSsh ssh;
    ASSERT_TRUE(Drop(&window_, {url}));
    Settle();
    EXPECT_EQ(window_.document().state(), Document::State::kReady)
        << window_.document().error().toStdString();
    EXPECT_EQ(window_.document().session()->steps().size(), 3u);
    EXPECT_TRUE(ssh.arguments().contains("-p\n2222\n-l\nann\n--\nnode7\n"));
  }
  // A hostile name is a line, and no ssh is started.
  const FakeSsh ssh;
  url.setPath(QStringLiteral("/a';x;'"));
  ASSERT_TRUE(Drop(&window_, {url}));
  Settle();
  EXPECT_TRUE(window_.document().error().contains(QStringLiteral("quotes")))
      << window_.document().error().toStdString();
  EXPECT_EQ(ssh.arguments(), QByteArray());
}

TEST_F(OpeningTest, TheDiffComparesWithAllThatIsDropped) {
  Open({.steps = 3}, ViewKind::kDiff);
  auto* diff = window_.findChild<DiffView*>();
  const QString a = Log("a.mprof", 5), b = Log("b.mprof", 5);
  EXPECT_FALSE(Drop(diff, {QUrl(QStringLiteral("https://x.org/c.mprof"))}));
  ASSERT_TRUE(Drop(diff, {QUrl::fromLocalFile(a), QUrl::fromLocalFile(b)}));
  Settle();
  ASSERT_NE(diff->model().shown(), nullptr);
  EXPECT_EQ(diff->model().shown()->question.before.session->processes().size(), 2u);
}

TEST_F(OpeningTest, TheDialogOpensALogOfAnotherMachine) {
  window_.show();
  const QString log = Log("x.mprof", 4);
  const FakeSsh ssh;
  Answer<QInputDialog>([&](QInputDialog* dialog) {
    EXPECT_EQ(dialog->textValue(), QStringLiteral("ssh://"));
    dialog->setTextValue(QStringLiteral("  ssh://node7") + log + QStringLiteral(" "));
    dialog->accept();
  });
  Action("nother machine")->trigger();
  Settle();
  ASSERT_EQ(window_.document().state(), Document::State::kReady);
  EXPECT_EQ(window_.document().path(), QStringLiteral("ssh://node7") + log);
  // The next time it begins with the last one.
  Answer<QInputDialog>([&](QInputDialog* dialog) {
    EXPECT_EQ(dialog->textValue(), QStringLiteral("ssh://node7") + log);
    dialog->reject();
  });
  Action("nother machine")->trigger();
  EXPECT_EQ(window_.document().state(), Document::State::kReady);
}

TEST_F(OpeningTest, TheDialogSaysWhatIsNoName) {
  Open({.steps = 3});
  const QString before = window_.document().path();
  const FakeSsh ssh;
  for (const char* name : {"train.mprof", "ssh://-oProxyCommand=x/a", "ann@host:it's", "ssh://"}) {
    QString said;
    Answer<QInputDialog>([&](QInputDialog* dialog) {
      Answer<QMessageBox>([&](QMessageBox* box) {
        said = box->text();
        box->accept();
      });
      dialog->setTextValue(QString::fromUtf8(name));
      dialog->accept();
    });
    Action("nother machine")->trigger();
    EXPECT_TRUE(said.contains(QString::fromUtf8(name))) << name << ": " << said.toStdString();
    EXPECT_FALSE(said.contains(QLatin1Char('\n')));
  }
  EXPECT_EQ(ssh.arguments(), QByteArray());
  EXPECT_EQ(window_.document().path(), before);
}

TEST_F(OpeningTest, ANoteIsWrittenInTheDialog) {
  Open({.steps = 3});
  const QString log = window_.document().path();
  for (const char* text : {"  seen here ", "   ", "never"}) {
    Answer<QInputDialog>([&](QInputDialog* dialog) {
      dialog->findChild<QLineEdit*>()->setText(QString::fromUtf8(text));
      if (*text == 'n')
        dialog->reject();
      else
        dialog->accept();
    });
    Action("Add a note here")->trigger();
    Settle();
  }
  const auto notes = NotesFile(log).Read();
  ASSERT_EQ(notes->size(), 1);
  EXPECT_EQ(notes->front().text, QStringLiteral("seen here"));
  EXPECT_TRUE(notes->front().place.startsWith(QStringLiteral("view=timeline&")));
}

TEST_F(OpeningTest, TheListOfNotesIsDrivenByItsButtons) {
  Open({.steps = 12});
  const QString log = window_.document().path();
  NotesFile file(log);
  ASSERT_TRUE(file.Add({QStringLiteral("view=map&step=3"), QStringLiteral("one")}).ok());
  ASSERT_TRUE(file.Add({QStringLiteral("view=leaks"), QStringLiteral("two")}).ok());
  Action("Edit notes")->trigger();
  auto* dialog = window_.findChild<NotesDialog*>();
  ASSERT_NE(dialog, nullptr);
  const auto press = [dialog](const char* text) {
    for (QPushButton* button : dialog->findChildren<QPushButton*>())
      if (button->text().remove(QLatin1Char('&')) == QString::fromUtf8(text))
        return QTest::mouseClick(button, Qt::LeftButton);
    ADD_FAILURE() << text;
  };
  press("Go there");  // nothing is selected
  press("Remove");
  EXPECT_EQ(window_.view(), ViewKind::kTimeline);
  dialog->table()->setCurrentCell(0, 0);
  press("Go there");
  Settle();
  EXPECT_EQ(window_.view(), ViewKind::kMap);
  press("Edit");
  auto* editor = dialog->table()->findChild<QLineEdit*>();
  ASSERT_NE(editor, nullptr);
  editor->setText(QStringLiteral("first"));
  QTest::keyClick(editor, Qt::Key_Return);
  Settle();
  EXPECT_EQ(file.Read()->front().text, QStringLiteral("first"));
  // Meanwhile another window changes it: that stays, and is shown.
  ASSERT_TRUE(file.Change(file.Read()->front(), {{}, QStringLiteral("theirs")}).ok());
  dialog->table()->setCurrentCell(0, 0);
  press("Remove");
  EXPECT_TRUE(window_.notice()->text().contains(QStringLiteral("meanwhile")));
  EXPECT_EQ(dialog->table()->item(0, 0)->text(), QStringLiteral("theirs"));
  EXPECT_EQ(file.Read()->size(), 2);
  dialog->table()->setCurrentCell(1, 0);
  QTest::keyClick(dialog->table(), Qt::Key_Delete);
  EXPECT_EQ(file.Read()->size(), 1);
  press("Close");
  Settle();
  EXPECT_EQ(window_.findChild<NotesDialog*>(), nullptr);
}

TEST_F(OpeningTest, AHostileLinkIsOneShortLine) {
  const QString log = testing::WriteDemoLog(directory_, {.steps = 3});
  const QString cases[] = {QStringLiteral("a=1&").repeated(4000),
                           QStringLiteral("site=") + QString(16000, QLatin1Char('x')),
                           QStringLiteral("view=") + QString(16000, QLatin1Char('x')),
                           QStringLiteral("site=a%E2%80%A8b&view=a%E2%80%A9b"),
                           QStringLiteral("x=") + QString(1 << 20, QLatin1Char('x'))};
  for (const QString& fragment : cases) {
    OpenPath(log + QLatin1Char('#') + fragment);
    const QString said = window_.notice()->text();
    EXPECT_FALSE(said.isEmpty()) << fragment.left(50).toStdString();
    EXPECT_LT(said.size(), 600) << fragment.left(50).toStdString();
    for (const QChar c : said) EXPECT_TRUE(c.isPrint()) << said.toStdString();
    EXPECT_EQ(window_.document().state(), Document::State::kReady);
  }
}

TEST_F(OpeningTest, HostileSettingsOpenALogAllTheSame) {
  QCoreApplication::setOrganizationName(QStringLiteral("memprof-test"));
  QSettings::setDefaultFormat(QSettings::IniFormat);
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, directory_.path());
  const QString log = testing::WriteDemoLog(directory_, {.steps = 5});
  const QString key = KeyOfLogs({log});
  const QVariant cases[] = {
      QStringList(key + QStringLiteral(" view=gold&step=999999&window=9s-1s&device=7")),
      QStringList(key + QLatin1Char(' ') + QString(100'000, QLatin1Char('&'))),
      QStringList(key + QStringLiteral(" \x1b[2J=\n&view")),
      QStringList(key),
      7,
      QByteArray(1000, '\xff'),
      QStringList({QString(), QString()})};
  for (const QVariant& left : cases) {
    QSettings().clear();
    QSettings().setValue(QStringLiteral("left"), left);
    QSettings().setValue(QStringLiteral("window/axis"), 99);
    QSettings().setValue(QStringLiteral("window/reopen"), QStringLiteral("maybe"));
    QSettings().setValue(QStringLiteral("window/geometry"), QByteArray(500, 'x'));
    QSettings().setValue(QStringLiteral("recent"), QStringList({QString(), QString(9999, u'r')}));
    MainWindow window(MainWindow::Settings::kKept);
    window.show();
    EXPECT_LE(window.minimumSizeHint().width(), 1280) << "a long name widens no window";
    window.Open(log);
    window.WaitUntilSettled();
    EXPECT_EQ(window.document().state(), Document::State::kReady);
    EXPECT_FALSE(window.notice()->text().contains(QLatin1Char('\n')));
    EXPECT_LT(window.notice()->text().size(), 600);
    window.ShowView(ViewKind::kMap);
    window.close();
    // Its own place is kept.
    const QStringList kept = QSettings().value(QStringLiteral("left")).toStringList();
    EXPECT_TRUE(FindPlace(kept, key).startsWith(QStringLiteral("view=map&")))
        << kept.join(u'\n').toStdString();
  }
}

}  // namespace
}  // namespace memprof::viewer
